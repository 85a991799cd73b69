-- How many imports of a tenant are under way, up to a number.
select count(*) from (
  select 1 from campaign_import i join campaign c on c.id = i.campaign_id where c.tenant = ?1 limit ?2)
