-- The highest number of a draft's recipients, while its import stands at that line.
select c.last_n from campaign c join campaign_import i on i.campaign_id = c.id
 where c.id = ?1 and c.state = 'draft' and i.digest = ?2 and i.line = ?3
