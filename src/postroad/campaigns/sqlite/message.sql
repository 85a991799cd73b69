-- What is known about a recipient.
select state, tries, provider_id, status from campaign_message where campaign_id = ?1 and n = ?2
