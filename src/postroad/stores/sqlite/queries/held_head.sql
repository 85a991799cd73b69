-- Where the exhausted head of a tenant's ordered slot holds it.
select m.id, r.queue_id, r.lane_id, r.priority, r.slot, m.accepted_at, m.rung_id, m.place
  from message m join rung r on r.id = m.rung_id join queue q on q.id = r.queue_id
 where m.id = ?1 and (?2 is null or q.tenant = ?2) and r.held <> ''
   and not exists (select 1 from message ahead where ahead.rung_id = m.rung_id
                      and (ahead.place, ahead.id) < (m.place, m.id))
