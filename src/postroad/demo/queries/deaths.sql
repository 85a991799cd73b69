-- Why messages died, and at whose door.
select q.name, d.reason, d.error, count(*)
  from dead d join queue q on q.id = d.queue_id
 group by q.name, d.reason, d.error order by count(*) desc
