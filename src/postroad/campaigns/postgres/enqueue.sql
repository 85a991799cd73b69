-- Copy unsent recipients into the ops of a job.
select postroad.campaign_enqueue($1, $2, $3, $4)
