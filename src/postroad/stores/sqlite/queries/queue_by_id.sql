-- A queue by its number.
select id, tenant, name, policy, paused_at, block_kind, block_until, block_reason, block_streak,
       block_since, resumed_at,
       (select p.id from queue_lane ql join lane l on l.id = ql.lane_id
          join pace p on p.queue_id = 0 and p.tenant = l.tenant and p.transport = l.transport
           and p.server = l.server and p.credential = l.credential
         where ql.queue_id = queue.id and ql.shard = 0 and p.spec <> ''),
       (select p.id from pace p where p.queue_id = queue.id and p.spec <> '')
  from queue where id = ?1
