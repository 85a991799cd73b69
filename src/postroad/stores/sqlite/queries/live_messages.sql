-- Messages that are not finished, by tenant, queue, order key and age, in order of id.
select m.id from message m cross join rung r on r.id = m.rung_id cross join queue q on q.id = r.queue_id
 where m.id > ?5 and q.tenant = ?1 and (?2 = '' or q.name = ?2) and (?3 = '' or m.order_key = ?3)
   and m.accepted_at < ?4
 order by m.id limit ?6
