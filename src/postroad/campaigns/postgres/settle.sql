-- Uncertain recipients are settled.
select postroad.campaign_settle_v1($1, $2, $3)
