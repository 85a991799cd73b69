-- Messages that are not finished, by tenant, queue, order key and age, in order of id.
select m.id from postroad.message m
 where m.id > $5 and m.accepted_at < $4 and ($3 = '' or m.order_key = $3)
   and (select q.tenant = $1 and ($2 = '' or q.name = $2)
          from postroad.rung r join postroad.queue q on q.id = r.queue_id where r.id = m.rung_id)
 order by m.id limit $6
