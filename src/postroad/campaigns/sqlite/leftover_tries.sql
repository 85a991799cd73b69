-- Tries of ops that go back to the ground truth.
update campaign_message set tries = (select o.tries from campaign_op o
         where o.campaign_id = campaign_message.campaign_id and o.n = campaign_message.n)
 where campaign_id = ?1 and n in (select n from campaign_op where campaign_id = ?1)
