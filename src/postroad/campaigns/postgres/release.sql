-- A job without an owner; SENT when nothing of it is left.
update postroad.job j set owner = null,
       state = case when state in ('ENQUEUED', 'SENDING') then
                 case when exists (select from postroad.campaign_op where job_id = j.id) then 'READY' else 'SENT' end
               else state end
 where id = $1 and owner = $2 and epoch = $3
