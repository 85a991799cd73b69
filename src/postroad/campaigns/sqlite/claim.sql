-- Own the oldest job that waits.
update job set state = 'ENQUEUED', owner = ?1, epoch = epoch + 1, lease_until = ?2
 where id = (select j.id from job j join campaign c on c.id = j.campaign_id
              where j.state = 'READY' and j.owner is null and c.state = 'running' order by j.id limit 1)
returning id, campaign_id, epoch
