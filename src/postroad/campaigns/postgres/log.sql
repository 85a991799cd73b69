-- Finalise campaigns whose jobs are over.
select postroad.campaign_log()
