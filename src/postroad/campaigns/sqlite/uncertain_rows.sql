-- The uncertain recipients of a campaign.
select n from campaign_message where campaign_id = ?1 and state = 'uncertain'
