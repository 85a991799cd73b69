-- A new job of a campaign.
insert into job (campaign_id, created_at) values (?1, ?2)
