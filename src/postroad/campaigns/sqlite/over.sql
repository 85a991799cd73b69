-- Campaigns with jobs to finalise, and nobody who works on them.
select x.id, x.name, x.state, x.total, x.sent, x.failed, x.uncertain, x.undelivered from campaign x
 where x.id in (select campaign_id from job where state in ('SENT', 'STOPPED'))
   and not exists (select 1 from job j where j.campaign_id = x.id
                      and (j.owner is not null or j.state in ('READY', 'ENQUEUED', 'SENDING')))
