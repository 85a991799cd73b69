-- Nothing of an import is counted.
update campaign set total = total - (select loaded from campaign_import where campaign_id = ?1),
       last_n = (select first_n - 1 from campaign_import where campaign_id = ?1)
 where id = ?1
