-- The limit of a lane's credential.
select p.id, p.cost, p.spacing_us, p.counted, p.next_us, p.spec from lane l
  join pace p on p.queue_id = 0 and p.tenant = l.tenant and p.transport = l.transport
   and p.server = l.server and p.credential = l.credential
 where l.id = ?1
