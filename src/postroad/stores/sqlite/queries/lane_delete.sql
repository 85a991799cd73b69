-- A lane that serves no queue is gone.
delete from lane
 where id = ?1 and owner is null and not exists (select 1 from queue_lane where lane_id = ?1)
returning id
