-- The ledgers of a credential.
select id from postroad.pace
 where queue_id = 0 and tenant = $1 and transport = $2 and server = $3 and credential = $4
   and spec <> ''
