-- Nothing of an import stays.
delete from campaign_message where campaign_id = ?1
   and n >= (select first_n from campaign_import where campaign_id = ?1)
