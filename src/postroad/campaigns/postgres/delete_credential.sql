-- Forget a credential that no campaign names.
delete from postroad.credential c where tenant = $1 and name = $2
   and not exists (select from postroad.campaign where credential = c.id) returning id
