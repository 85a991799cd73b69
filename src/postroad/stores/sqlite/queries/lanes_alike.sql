-- The lanes of a lane's credential.
select o.id from lane l join lane o on o.tenant = l.tenant and o.transport = l.transport
   and o.server = l.server and o.credential = l.credential
 where l.id = ?1
