-- Keep rows that COPY could not take as they were.
select postroad.campaign_load($1, $2, $3, $4, $5)
