-- What became of a tenant's finished message: cancelled, or final otherwise.
select case h.state when 'cancelled' then 'cancelled' else 'final' end
  from history h join queue q on q.id = h.queue_id where h.id = ?1 and q.tenant = ?2
union all
select 'final' from dead d join queue q on q.id = d.queue_id where d.id = ?1 and q.tenant = ?2
