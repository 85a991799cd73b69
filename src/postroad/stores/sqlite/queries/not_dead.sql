-- Where a tenant's message is that is not in the dead set.
select case when r.level < 0 then 'uncertain' else 'not finished' end
  from message m join rung r on r.id = m.rung_id join queue q on q.id = r.queue_id
 where m.id = ?1 and (?2 is null or q.tenant = ?2)
union all
select h.state from history h join queue q on q.id = h.queue_id
 where h.id = ?1 and (?2 is null or q.tenant = ?2)
