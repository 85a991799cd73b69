-- What calls gave.
select postroad.campaign_record_v1($1, $2, $3, $4, $5, $6, $7, $8, $9)
