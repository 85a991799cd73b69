-- Messages that live here and belong into the broker: replayed, settled as unsent, ticks.
select m.id, q.tenant, q.name, ql.shard, coalesce(b.hop, 0) + 1, m.level, m.attempts, r.priority,
       m.accepted_at, m.due, m.expires_at, m.body, m.headers
  from postroad.message m join postroad.rung r on r.id = m.rung_id and r.level >= 0
  join postroad.queue q on q.id = r.queue_id
  join postroad.queue_lane ql on ql.queue_id = r.queue_id and ql.lane_id = r.lane_id
  left join postroad.broker_message b on b.id = m.id
 order by m.id limit $1
