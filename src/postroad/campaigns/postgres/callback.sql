-- A provider's word about one.
select postroad.campaign_callback($1, $2, $3, $4, $5, $6, $7)
