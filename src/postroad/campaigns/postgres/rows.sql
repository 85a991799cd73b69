-- Recipients with their cells, in order.
select n, tries, recipient, fields from postroad.campaign_message
 where campaign_id = $1 and n > $2 and (state = 'unsent' or not $4::boolean) order by n limit $3
