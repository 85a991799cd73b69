-- Uncertain recipients are settled.
select postroad.campaign_settle($1, $2, $3)
