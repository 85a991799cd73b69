-- How the jobs of an owner stand. A credential rests while its lane is paused or open.
select j.id, x.state,
       max(c.blocked_until, coalesce((
         select max(case when l.paused_at > 0 then ?2 + 2000 else l.circuit_until end) from lane l
          where l.tenant = c.tenant and l.credential = c.name
            and (c.kind = 'twilio' and l.transport = 'sms' or c.kind = 'webhook' and l.transport = 'webhook' and l.server = 'any')
       ), 0)), c.block_reason
  from job j join campaign x on x.id = j.campaign_id join credential c on c.id = x.credential
 where j.owner = ?1 and j.id in (select value from json_each(?3))
