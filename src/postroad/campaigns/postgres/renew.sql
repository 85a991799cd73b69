-- An owner is still here; how its jobs stand.
with renewed as (update postroad.job set lease_until = postroad.now_ms() + $2 where owner = $1
                 returning id, campaign_id)
select j.id, x.state, c.blocked_until, c.block_reason
  from renewed j join postroad.campaign x on x.id = j.campaign_id
  join postroad.credential c on c.id = x.credential
