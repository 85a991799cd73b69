-- A campaign's recipients, counted one by one.
select state, count(*), count(*) filter (where status in ('undelivered', 'failed', 'canceled'))
  from postroad.campaign_message where campaign_id = $1 group by state
