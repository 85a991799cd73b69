-- Copy unsent recipients into the ops of a job.
insert into campaign_op (campaign_id, n, job_id, tries)
select m.campaign_id, m.n, ?2, m.tries from campaign_message m
 where m.campaign_id = ?1 and m.n > ?3 and m.state = 'unsent'
   and not exists (select 1 from campaign_op o where o.campaign_id = m.campaign_id and o.n = m.n)
 order by m.n limit ?4
returning n
