-- Recipients with their cells, in order.
select n, tries, recipient, fields from campaign_message
 where campaign_id = ?1 and n > ?2 and (state = 'unsent' or not ?4) order by n limit ?3
