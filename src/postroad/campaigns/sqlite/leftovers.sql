-- What a campaign that is over did not send leaves its ops.
delete from campaign_op where campaign_id = ?1
