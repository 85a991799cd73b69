-- Recipients in order.
select n, line, recipient, state, provider_id, error_code, sub_type, sent_at, answered_at, status, status_at
  from postroad.campaign_message
 where campaign_id = $1 and ($2::text is null or state = $2) and n > $3 order by n limit $4
