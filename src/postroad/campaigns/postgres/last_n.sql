-- The highest number of a draft's recipients, while its import stands at that line; nobody else
-- loads at the same time, and its commit waits for no disk.
select c.last_n, set_config('synchronous_commit', 'off', true)
  from postroad.campaign c join postroad.campaign_import i on i.campaign_id = c.id
 where c.id = $1 and c.state = 'draft' and i.digest = $2 and i.line = $3 for update
