-- A draft and its jobs change their states, unless an import of its recipients is under way.
select postroad.campaign_move($1, $2, $3, $4, $5, $6, $7, $8, $9)
 where not exists (select from postroad.campaign_import where campaign_id = $1)
