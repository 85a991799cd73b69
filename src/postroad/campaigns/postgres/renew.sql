-- An owner is still here; how its jobs stand. A credential rests while its lane is paused or open.
with renewed as (update postroad.job set lease_until = postroad.now_ms() + $2 where owner = $1 and id = any ($3)
                 returning id, campaign_id)
select j.id, x.state,
       greatest(c.blocked_until, coalesce((
         select max(case when l.paused_at > 0 then postroad.now_ms() + 2000 else l.circuit_until end)
           from postroad.lane l
          where l.tenant = c.tenant and l.credential = c.name
            and (c.kind = 'twilio' and l.transport = 'sms' or c.kind = 'webhook' and l.transport = 'webhook' and l.server = 'any')
       ), 0)), c.block_reason
  from renewed j join postroad.campaign x on x.id = j.campaign_id
  join postroad.credential c on c.id = x.credential
