-- Whether a queue was seen unused since before a time, and none of its lanes is owned.
select 1 from unused_queue u
 where u.queue_id = ?1 and u.since <= ?2
   and not exists (select 1 from queue_lane ql join lane l on l.id = ql.lane_id
                    where ql.queue_id = u.queue_id and l.owner is not null)
