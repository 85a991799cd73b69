-- Jobs whose owners were not heard from are free.
select postroad.campaign_reap()
