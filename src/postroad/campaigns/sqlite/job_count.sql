-- How many jobs a campaign has.
select count(*) from job where campaign_id = ?1
