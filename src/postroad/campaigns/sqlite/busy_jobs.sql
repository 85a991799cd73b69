-- Jobs of a campaign that somebody may still work on.
select count(*) from job
 where campaign_id = ?1 and (owner is not null or state in ('READY', 'ENQUEUED', 'SENDING'))
