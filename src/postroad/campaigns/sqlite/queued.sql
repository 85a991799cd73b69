-- Those of a job that wait to be sent.
select o.n, o.tries, m.recipient, m.fields
  from campaign_op o join campaign_message m on m.campaign_id = o.campaign_id and m.n = o.n
 where o.job_id = ?1 and o.n > ?2 and o.state = 'queued' order by o.n limit ?3
