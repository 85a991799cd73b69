-- How many imports of a tenant are under way, up to a number.
select count(*) from (
  select from postroad.campaign_import i join postroad.campaign c on c.id = i.campaign_id
   where c.tenant = $1 limit $2) x
