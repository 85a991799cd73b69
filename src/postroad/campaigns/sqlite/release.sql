-- A job without an owner; SENT when nothing of it is left.
update job set owner = null,
       state = case when state in ('ENQUEUED', 'SENDING') then
                 case when exists (select 1 from campaign_op where job_id = job.id) then 'READY' else 'SENT' end
               else state end
 where id = ?1 and owner = ?2 and epoch = ?3
