-- Own the oldest job that waits.
update postroad.job set state = 'ENQUEUED', owner = $1, epoch = epoch + 1, lease_until = postroad.now_ms() + $2
 where id = (select j.id from postroad.job j join postroad.campaign c on c.id = j.campaign_id
              where j.state = 'READY' and j.owner is null and c.state = 'running'
              order by j.id limit 1 for update of j skip locked)
returning id, campaign_id, epoch
