-- A campaign's recipients, counted one by one.
select state, count(*), coalesce(sum(status in ('undelivered', 'failed', 'canceled')), 0)
  from campaign_message where campaign_id = ?1 group by state
