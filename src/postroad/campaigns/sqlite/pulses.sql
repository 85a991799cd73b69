-- How the jobs of an owner stand.
select j.id, x.state, c.blocked_until, c.block_reason
  from job j join campaign x on x.id = j.campaign_id join credential c on c.id = x.credential
 where j.owner = ?1
