-- A campaign and its jobs change their states.
select postroad.campaign_move($1, $2, $3, $4, $5, $6, $7, $8, $9)
