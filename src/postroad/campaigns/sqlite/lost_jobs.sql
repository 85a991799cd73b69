-- Jobs whose owners were not heard from.
select id, campaign_id from job
 where owner is not null and (lease_until < ?1 or (?2 > 0 and owner <> ?2))
